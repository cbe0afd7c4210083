// Package plot draws the figures of runs, as SVG and PNG and for pages: rewards by epoch with
// bands of 95 %, runs beside each other, histograms, and pairs of values.
package plot
