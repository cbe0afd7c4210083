// Package sandbox serves a small real policy behind the real protocols:
// OpenAI-style chat with logprobs and token ids, and the training endpoints
// of an ART server, which really update the policy by policy gradient.
package sandbox
