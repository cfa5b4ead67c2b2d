"""Files that usually hold secrets, by their names."""

from __future__ import annotations

import re


def is_secret_path(path: str) -> bool:
    """Whether a file of this name usually holds secrets. Examples and templates, public keys and code do not."""
    parts = path.replace("\\", "/").lower().rstrip("/").split("/")
    name = parts[-1]
    if name.endswith(_PUBLIC_ENDINGS) or re.search(
        r"(?:^|[._-])(?:example|sample|template|dist|schema)(?:[._-]|$)", name
    ):
        return False
    if name in _SECRET_NAMES or name.endswith(_SECRET_ENDINGS):
        return True
    if re.fullmatch(r"\.env(?:[._-].*)?|.+\.env|\.?envrc|env\.(?:local|prod|production|staging)", name):
        return True
    if re.fullmatch(
        r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[._-].*)?|.*_rsa|service[_-]?account.*\.json|.*kubeconfig.*", name
    ):
        return True
    if re.fullmatch(
        r"\.?(?:secrets?|credentials?)(?:\.(?:ya?ml|json|toml|ini|txt|env|enc|cfg|conf|properties))?", name
    ):
        return True
    return len(parts) > 1 and (parts[-2], name) in _SECRET_PLACES


_PUBLIC_ENDINGS = (".pub", ".crt", ".md", ".rst", ".py", ".js", ".ts", ".go", ".rs", ".rb", ".java", ".html")
_SECRET_NAMES = frozenset({
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd",
    ".dockercfg", ".s3cfg", ".boto", ".terraformrc", "credentials.tfrc.json", "terraform.tfstate", ".vault-token",
    ".dockerconfigjson", "shadow", "gshadow", "master.key", "auth.json", "application_default_credentials.json",
    "client_secret.json", "wp-config.php", ".bash_history", ".zsh_history", "fish_history", ".python_history",
})  # fmt: skip
_SECRET_ENDINGS = (
    ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfvars", ".tfvars.json", ".ovpn",
    ".tfstate", ".agekey", ".keytab", ".mobileprovision",
)  # fmt: skip
_SECRET_PLACES = frozenset({(".aws", "config"), (".docker", "config.json"), (".kube", "config"), ("gh", "hosts.yml")})
