package main

// The headings of the list of commands.
const (
	stagesHeading  = "Stages"
	beginHeading   = "Begin"
	lookHeading    = "Look"
	measureHeading = "Measure"
	dataHeading    = "Data"
	keepHeading    = "Keep"
)
