"""Where tables are read from: files of each format, and functions of a site's own code."""
