"""Programs from package registries, recorded while real clients use them: ``python -m tests.corpora.programs FOLDER``."""
