"""What reports of boosted trees share, across columns or across rows: losses, importance by owner, drawn trees."""
