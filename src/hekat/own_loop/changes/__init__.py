"""What a party of an own loop sends of its changes: whole ones, a part of each, or adapters beside frozen weights."""
