"""Files of records, confidential or published, in the terms of who made them."""
