"""Tables and figures of Kazan & Reiter made again, as frames."""
