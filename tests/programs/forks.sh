# Many short processes: forks.sh COUNT
n=0
for i in $(seq "$1"); do
    x=$(echo "$i" | sed s/1/2/)
    n=$((n + x))
    ( : )
    /bin/true
done
echo $n
