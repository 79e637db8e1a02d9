"""Files of records, confidential or published, with their maker's headers and codes."""
