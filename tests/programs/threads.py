"""threads.py COUNT: computes in several threads."""
import hashlib
import sys
import threading

results = {}


def work(name, count):
    digest = hashlib.sha256()
    for i in range(count):
        digest.update(str(i * i % 977).encode())
    results[name] = digest.hexdigest()


threads = [threading.Thread(target=work, args=(i, int(sys.argv[1]))) for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))
