"""What goes out as files: records read in chunks, written as JSON Lines or CSV."""
