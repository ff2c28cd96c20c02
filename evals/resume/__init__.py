"""Does an agent that is killed go on where it stopped? A migration, a scripted agent, and SIGKILL."""
