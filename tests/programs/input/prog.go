package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
)

func main() {
	counts := map[string]int{}
	in := bufio.NewScanner(os.Stdin)
	in.Split(bufio.ScanWords)
	for in.Scan() {
		counts[in.Text()]++
	}
	var names []string
	for n := range counts {
		names = append(names, n)
	}
	sort.Strings(names)
	fmt.Println(len(names), names[0])
}
