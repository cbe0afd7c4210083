// Package rollout runs an agent several times on each example and writes the
// attempts, with every model call exactly as it was sampled, as one wide
// dataset.
//
// It is not an agent (agents/ holds those, one folder each), not a proxy
// (recorder/ is) and not a judge of what the agent did: its rows have no
// reward. Finished trajectories are journalled, so a run that was killed goes
// on where it stopped and asks the engine again only for what was in flight.
// Of two commands that run the same shard at once, one makes the attempts and
// the other waits, since each would pay for all of them: see turn.
//
// # Memory
//
// What is in memory follows from how many trajectories run at once, not from
// how many there are: an example is read when its attempt begins, and which
// attempts are made is a bit for each. When the rows are written, sixteen bytes
// for each put them in order. A plan takes 24 bytes for each of its examples,
// and a dataset that is extended 16 for each of its groups.
//
// # More generations
//
// What curate found worth more generations is a plan (Options.Plan): only its
// examples are attempted, as often as it says. In the epoch of the plan they are
// numbered on from what is there, so that no id comes twice; in another one from
// 0. With Options.Extend they are written among the rollouts that the plan was
// made of: the rows of these are copied, by the page where this version wrote
// them, keep their ids and their order, failures too, and each group is followed
// by what is new of it. So scores can be carried over, and partial groups are
// completed, not made again. Extending twice by halves of a plan is extending
// once. Groups of more than one policy version are counted in the manifest, and
// curate's staleness rule tells their members apart.
//
// The alternative, a dataset of the new rows alone beside the old one, would
// leave every later stage to find the members of a group in several places.
//
// # Adding an agent
//
// In another language, write a program and run it as agent "command"; there is
// nothing to add here. It reads one JSON line, finds the model by the
// environment variables that OpenAI's clients know, and may print one JSON
// object. Package agents/command has the protocol, also for programs that live
// on, and a whole worker in seven lines; testdata/agents has programs that
// need nothing but Python, and such of LangGraph, LlamaIndex and ADK. A service
// is told where to ask by agent "http".
//
// In Go:
//
//  1. Write a package under agents/ with a type that keeps Agent: Describe says
//     all that decides what it does, Attempt asks the model at the attempt's
//     BaseURL until it is done or its context ends. What goes wrong is a
//     *Failure with its class; how it ended for the row is the runner's to say.
//     Closer, Limited and Stored are further powers that it may have.
//  2. Write its Settings, an AgentSettings: Declare names what the agent can be
//     told, and Agent makes it. Arguments and ProgramSettings are there to embed.
//     What plugin.Identity finds in them serves as Description.Params.
//  3. Give the package a variable Kind: its name, a phrase of help and New, which
//     returns Settings at their defaults. List it in agents/all.
//  4. In its test call agents/agenttest.Run, which is what the interface means,
//     and test what is particular to it. The example of package agenttest is an
//     agent whole, with its test.
package rollout
