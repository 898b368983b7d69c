create table t (id integer primary key, name text, size integer);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 5000)
insert into t select i, 'name' || (i * 7919 % 5003), i * i % 997 from c;
create index by_name on t (name);
select count(*), sum(size) from t where name > 'name3';
select size, count(*) as n from t group by size order by n desc, size limit 5;
