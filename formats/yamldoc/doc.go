// Package yamldoc reads the files that people write in YAML: the config file, the
// rules of redaction, and NAT's configuration. It gives nodes, not Go values, so
// that an error of its callers can name the line as its own errors do; it knows no
// keys and no types.
package yamldoc
