"""What a work folder proves, and which of its folders fit together: each asked in one place."""
