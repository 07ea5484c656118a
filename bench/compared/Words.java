/** Counts words and computes Fibonacci numbers for 1.5 seconds. */
import java.util.HashMap;
import java.util.Map;

class Words {
    static long fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

    static int count(int n) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < n; i++) counts.merge("w" + i % 1000, 1, Integer::sum);
        return counts.size();
    }

    public static void main(String[] arguments) {
        long end = System.currentTimeMillis() + 1500, sum = 0;
        while (System.currentTimeMillis() < end) sum += fibonacci(25) + count(20000);
        System.out.println(sum);
    }
}
