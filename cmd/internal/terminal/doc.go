// Package terminal is what a run writes to and asks: stdout for the result, stderr for messages,
// bars of progress and log lines, the pager for long text. It redacts secrets and makes control
// characters visible in all that it writes.
//
// It knows no command and no flag: package cli says with which settings a run writes.
package terminal
