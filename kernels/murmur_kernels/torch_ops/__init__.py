"""The ops by torch's own operations, reading only what is selected; one op per file."""
