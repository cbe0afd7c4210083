// Package live reads the journals of a rollout under way: what ended so far, how fast, and the
// whole rows of a group. Segments of a journal never change, so each is read once.
package live
