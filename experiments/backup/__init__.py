"""A workspace as one archive: a line of JSON per row, and the files of its attachments."""
