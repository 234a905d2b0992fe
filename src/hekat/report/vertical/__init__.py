"""What reports of all runs on columns share: tables of parties, results, time and bytes."""
