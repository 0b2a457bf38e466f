"""What several tests share: strategies, simulators, programs, fakes."""
