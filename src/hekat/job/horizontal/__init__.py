"""Jobs that train one model on the rows of several parties: their files and what a site lets them do."""
