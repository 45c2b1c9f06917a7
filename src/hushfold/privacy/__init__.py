"""The door, its noise, its ledger and its accounts: the only place where a private sum becomes public."""
