// Package rollout runs an agent several times on each example and writes the
// attempts, with every model call exactly as it was sampled, as one wide
// dataset.
//
// It is not an agent (agents/ holds those, one folder each), not a proxy
// (recorder/ is) and not a judge of what the agent did: its rows have no
// reward. Finished trajectories are journalled, so a run that was killed goes
// on where it stopped and asks the engine again only for what was in flight.
//
// To add an agent, write a package under agents/ whose Kind variable is an
// AgentKind, list it in agents/all, and run agents/agenttest on it.
package rollout
