counts = Hash.new(0)
File.foreach("words.txt") { |l| l.split.each { |w| counts[w] += 1 } }
puts counts.size
puts (1..20000).map { |i| (i * i).to_s }.join(" ").size
f = Fiber.new { 3.times { |i| Fiber.yield "x" * (100 + i) } }
puts 3.times.map { f.resume.size }.inspect
puts 4.times.map { |i| Thread.new { ("y" * i).size } }.map(&:value).inspect
