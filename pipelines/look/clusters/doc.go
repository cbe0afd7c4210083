// Package clusters computes the standard error of a mean over rows that come in groups.
package clusters
