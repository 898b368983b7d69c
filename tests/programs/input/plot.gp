set terminal svg
set output 'plot.svg'
plot sin(x) * exp(-x / 10), cos(x) with points
