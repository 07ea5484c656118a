/* Three functions that take turns, and tell how much processor time each had: java Shares MILLISECONDS
 *
 * Turns differ in length and are longer than the sampler's interval. Otherwise both could keep in step. Functions have names
 * only when they are compiled, which is after many calls. */
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

class Shares {
    static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    static long sum;

    static long work(long steps) {
        long value = 1;
        for (long i = 0; i < steps; i++) value = value * 6364136223846793005L + 1;
        return value;
    }

    static void alpha(long steps) { sum += work(steps * 5); }

    static void beta(long steps) { sum += work(steps * 3); }

    static void gamma(long steps) { sum += work(steps * 2); }

    static void run(int number, long steps) {
        if (number == 0) alpha(steps);
        if (number == 1) beta(steps);
        if (number == 2) gamma(steps);
    }

    public static void main(String[] arguments) {
        String[] names = {"alpha", "beta", "gamma"};
        long[] spentNs = new long[3];
        for (int i = 0; i < 60000; i++) run(i % 3, 100);
        long limitNs = Long.parseLong(arguments[0]) * 1000000;
        while (spentNs[0] + spentNs[1] + spentNs[2] < limitNs) {
            for (int i = 0; i < 3; i++) {
                long steps = 500000 + (long) (Math.random() * 1000000);
                long beginNs = threads.getCurrentThreadCpuTime();
                run(i, steps);
                spentNs[i] += threads.getCurrentThreadCpuTime() - beginNs;
            }
        }
        for (int i = 0; i < 3; i++) System.out.println("function " + names[i] + " " + spentNs[i]);
    }
}
