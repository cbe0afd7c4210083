// Package catalogue lists the datasets, receipts and reports below a URI in one listing, and says
// of which run, epoch and stage each is. It opens none of them.
package catalogue
