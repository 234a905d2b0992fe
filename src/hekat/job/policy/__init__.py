"""What a site lets jobs do: the lines of [policy], the checks of a job against them, and the ledger of refusals."""
