"""Pages of a work folder's results: HTML, Markdown and pictures."""
