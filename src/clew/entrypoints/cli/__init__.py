"""The command line. `main` loads a command's module only when that command runs."""
