"""What finished stages print: a module a stage, called as `--only` calls it."""
