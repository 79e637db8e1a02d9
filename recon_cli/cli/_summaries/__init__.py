"""What finished stages print: a function a stage, called as `--only` calls it."""
