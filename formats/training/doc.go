// Package training is what a trainer gets of a group: advantages and losses of messages, the
// steps over a batch that remain to be done, and when there is nothing to learn from.
package training
