"""The world outside: files, git, models, grammars."""
