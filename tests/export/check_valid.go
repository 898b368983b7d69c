// check_valid -- whether pprof's own library finds profiles valid
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	for _, path := range os.Args[1:] {
		f, err := os.Open(path)
		if err == nil {
			var p *profile.Profile
			if p, err = profile.Parse(f); err == nil {
				if err = p.CheckValid(); err == nil {
					fmt.Println(len(p.Sample), len(p.SampleType), path)
				}
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, path+":", err)
			os.Exit(1)
		}
	}
}
