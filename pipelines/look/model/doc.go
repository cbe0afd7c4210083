// Package model is what commands and pages say of a message, a trajectory and a group: the
// facts, the place of each message in the tree, whether its tokens train and why, and what score,
// group and curate made of it. Text is written here too; pages are made of the same values in
// package page.
package model
