%{
int yylex(void);
void yyerror(const char *s);
%}
%token NUM
%left '+' '-'
%left '*' '/'
%%
lines: | lines e '\n' ;
e: NUM | e '+' e | e '-' e | e '*' e | e '/' e | '(' e ')' ;
%%
