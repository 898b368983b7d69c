import java.util.*;
public class prog {
    public static void main(String[] a) {
        Map<String, Integer> m = new TreeMap<>();
        Scanner s = new Scanner(System.in);
        while (s.hasNext())
            m.merge(s.next(), 1, Integer::sum);
        System.out.println(m.size() + " words");
    }
}
