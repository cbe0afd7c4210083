// Package natconfig converts a finetuning configuration of NVIDIA NeMo Agent
// Toolkit (NAT) to a config file of rollmill. It accepts what NAT's own data
// models accept, and does not run NAT. It knows rollmill's keys only as text; a
// test of cmd/rollmill compares them with the flags.
//
// The workflow itself (llms, functions, workflow, ...) stays in NAT's file:
// `nat serve` reads it, and rollout's agent nat calls that server. A reference
// such as ${VAR} is copied and not expanded.
//
// Each field of NAT is one line of the tables in fields.go. To add one, add its
// line: a name, the shape of its value, and either the key of rollmill that
// takes the value or a note that says why none does. Settings that follow from
// several fields, such as a URL from a host and a port, are made in sample.go
// (examples and rewards), trainer.go (pairs, ART) and customizer.go.
//
// Nothing is dropped silently. A field gets a Note if it means something else in
// rollmill, has no counterpart there, or is ignored by or unknown to NAT. The note
// is also a comment in the result. Keys and tokens are never copied.
package natconfig
