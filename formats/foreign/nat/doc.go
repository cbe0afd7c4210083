// Package nat reads what the NeMo Agent Toolkit (NAT) writes: the outputs of nat
// eval (Importer), and the intermediate steps of its workflows (Step), which
// stages/rollout/agents/nat reads from its stream.
package nat
