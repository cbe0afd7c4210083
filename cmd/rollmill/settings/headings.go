package settings

// The headings of the list of commands.
const (
	StagesHeading  = "Stages"
	BeginHeading   = "Begin"
	LookHeading    = "Look"
	MeasureHeading = "Measure"
	DataHeading    = "Data"
	KeepHeading    = "Keep"
)
