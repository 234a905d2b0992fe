"""Each party's signed record of what passed, and the answers it gives afterwards."""

from hekat.ledger.audit import AuditReport, audit, audit_bytes
from hekat.ledger.claims import compare_claims
from hekat.ledger.condense import Condensed, condense
from hekat.ledger.ledger import Ledger
from hekat.ledger.reconcile import Reconciliation, reconcile
from hekat.ledger.recorded_channel import RecordedChannel

__all__ = [
    "AuditReport",
    "Condensed",
    "Ledger",
    "Reconciliation",
    "RecordedChannel",
    "audit",
    "audit_bytes",
    "compare_claims",
    "condense",
    "reconcile",
]
