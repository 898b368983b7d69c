static int f(int x){return x+1;}
const struct calls { int v; int (*f)(int); } alq_x={1,f};
