// Package planning says which attempts a rollout makes: tasks, one for each
// example, with their generations and forks, for all examples (tasks.go) or for
// those of a plan that curate wrote (plan.go).
//
// It makes no attempt and knows neither agents nor engines. A task takes 24 bytes
// of memory with a plan, and none without.
//
// A slot numbers the attempts of all tasks, so that one bit for each is enough to
// know what is done. However a run is cut into shards, each attempt belongs to one.
package planning
