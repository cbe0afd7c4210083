// Package harbor reads Harbor task folders of schema 1.4 and older: what an agent is
// told (instruction.md), where it works (environment/ or an image), and the tests
// that give it rewards. Importer reads the trials of Harbor's jobs.
//
// A task that needs what Rollmill does not run is refused by name: several steps,
// compose files, GPUs and TPUs, lists of allowed hosts, a verifier with an
// environment of its own, Windows, MCP servers, skills, health checks and
// .harborignore. Where a field has an older name, both are read.
package harbor
