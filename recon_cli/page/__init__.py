"""What a work folder shows, as one HTML page, as Markdown and as pictures."""
