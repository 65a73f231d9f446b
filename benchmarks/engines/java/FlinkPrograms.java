package emberlog.benchmarks;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.functions.CoGroupFunction;
import org.apache.flink.api.common.functions.FlatJoinFunction;
import org.apache.flink.api.common.functions.JoinFunction;
import org.apache.flink.api.java.DataSet;
import org.apache.flink.api.java.ExecutionEnvironment;
import org.apache.flink.api.java.operators.DeltaIteration;
import org.apache.flink.api.java.operators.IterativeDataSet;
import org.apache.flink.api.java.tuple.Tuple1;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.util.Collector;

/**
 * The plans that Cog and Nexus compile Datalog to, written by hand: Flink's DataSet delta iteration, with the solution set
 * keyed by the whole fact, or by the group where a value is aggregated.
 *
 * <p>Reads one command per line, `run|check PROGRAM SOURCE ARCS [NODES]`, and answers each with one line.
 */
@SuppressWarnings("deprecation")
public final class FlinkPrograms {
  private static final int FOR_EVER = Integer.MAX_VALUE;
  private static final TypeInformation<Tuple2<Long, Long>> PAIR = TypeInformation.of(new TypeHint<>() {});
  private static final TypeInformation<Tuple3<Long, Long, Long>> TRIPLE = TypeInformation.of(new TypeHint<>() {});
  private static final TypeInformation<Tuple2<Long, Double>> RANKED = TypeInformation.of(new TypeHint<>() {});
  private static final TypeInformation<Tuple2<Long, Long>> SUMS = PAIR;

  private final ExecutionEnvironment environment;
  private final String arcs;
  private final String nodes;
  private final long source;

  private FlinkPrograms(ExecutionEnvironment environment, String arcs, String nodes, long source) {
    this.environment = environment;
    this.arcs = arcs;
    this.nodes = nodes;
    this.source = source;
  }

  public static void main(String[] arguments) throws Exception {
    int threads = Integer.parseInt(arguments[0]);
    Configuration configuration = new Configuration();
    configuration.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(Long.parseLong(arguments[1])));
    configuration.set(TaskManagerOptions.NETWORK_MEMORY_MIN, MemorySize.ofMebiBytes(256));
    configuration.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.ofMebiBytes(256));
    configuration.set(RestOptions.BIND_PORT, "0");
    configuration.set(RestOptions.ADDRESS, "127.0.0.1");
    configuration.set(RestOptions.BIND_ADDRESS, "127.0.0.1");
    MiniClusterConfiguration cluster =
        new MiniClusterConfiguration.Builder()
            .setConfiguration(configuration)
            .setNumTaskManagers(1)
            .setNumSlotsPerTaskManager(threads)
            .build();
    try (MiniCluster running = new MiniCluster(cluster)) {
      running.start();
      int port = running.getRestAddress().get().getPort();
      System.out.println("ready");
      BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = commands.readLine(); line != null; line = commands.readLine()) {
        System.out.println(answer(line.split("\t"), port, threads));
      }
    }
  }

  private static String answer(String[] words, int port, int threads) {
    try {
      ExecutionEnvironment environment = ExecutionEnvironment.createRemoteEnvironment("127.0.0.1", port);
      environment.setParallelism(threads);
      environment.getConfig().enableObjectReuse();
      String nodes = words.length > 4 ? words[4] : null;
      FlinkPrograms programs = new FlinkPrograms(environment, words[3], nodes, Long.parseLong(words[2]));
      return "done\t" + programs.execute(words[1], words[0].equals("check"));
    } catch (Throwable problem) {
      Throwable cause = problem;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      return "failed\t" + cause.toString().replaceAll("\\s+", " ");
    }
  }

  private String execute(String program, boolean check) throws Exception {
    switch (program) {
      case "tc":
        return pairs(transitiveClosure(arcs()), check);
      case "sg":
        return pairs(sameGeneration(), check);
      case "sg-count":
        long count = sameGeneration().count();
        return check ? "1\t" + squared(mix(START, count, 0)) : "1";
      case "reach":
        long from = source;
        return pairs(transitiveClosureFrom(arcs().filter(arc -> arc.f0 == from)), check);
      case "cc":
        return pairs(labels(arcs()), check);
      case "wcc":
        return pairs(labels(bothWays()), check);
      case "sssp":
        return pairs(shortestPaths(), check);
      case "apsp":
        return triples(allShortestPaths(), check);
      case "pagerank":
        return ranks(pageRank(), check);
      default:
        throw new IllegalArgumentException(program);
    }
  }

  private DataSet<Tuple2<Long, Long>> arcs() {
    return environment.readCsvFile(arcs).types(Long.class, Long.class);
  }

  private DataSet<Tuple3<Long, Long, Long>> weightedArcs() {
    return environment.readCsvFile(arcs).types(Long.class, Long.class, Long.class);
  }

  private DataSet<Tuple2<Long, Long>> bothWays() {
    DataSet<Tuple2<Long, Long>> arcs = arcs();
    return arcs.union(arcs.map(arc -> new Tuple2<>(arc.f1, arc.f0)).returns(PAIR)).distinct();
  }

  private DataSet<Tuple2<Long, Long>> transitiveClosure(DataSet<Tuple2<Long, Long>> seed) {
    return transitiveClosureFrom(seed);
  }

  /** Cog's listing 3: the delta is what the join finds and the solution set does not have. */
  private DataSet<Tuple2<Long, Long>> transitiveClosureFrom(DataSet<Tuple2<Long, Long>> seed) {
    DeltaIteration<Tuple2<Long, Long>, Tuple2<Long, Long>> iteration = seed.iterateDelta(seed, FOR_EVER, 0, 1);
    DataSet<Tuple2<Long, Long>> found =
        iteration
            .getWorkset()
            .join(arcs())
            .where(1)
            .equalTo(0)
            .with((JoinFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, Tuple2<Long, Long>>)
                (path, arc) -> new Tuple2<>(path.f0, arc.f1))
            .returns(PAIR);
    DataSet<Tuple2<Long, Long>> delta = found.coGroup(iteration.getSolutionSet()).where(0, 1).equalTo(0, 1).with(new Minus());
    return iteration.closeWith(delta, delta);
  }

  private DataSet<Tuple2<Long, Long>> sameGeneration() {
    JoinFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, Tuple2<Long, Long>> children =
        (one, other) -> new Tuple2<>(one.f1, other.f1);
    DataSet<Tuple2<Long, Long>> seed =
        arcs().join(arcs()).where(0).equalTo(0).with(children).returns(PAIR).filter(pair -> !pair.f0.equals(pair.f1)).distinct();
    DeltaIteration<Tuple2<Long, Long>, Tuple2<Long, Long>> iteration = seed.iterateDelta(seed, FOR_EVER, 0, 1);
    JoinFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, Tuple2<Long, Long>> left =
        (pair, arc) -> new Tuple2<>(arc.f1, pair.f1);
    JoinFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, Tuple2<Long, Long>> right =
        (pair, arc) -> new Tuple2<>(pair.f0, arc.f1);
    DataSet<Tuple2<Long, Long>> found =
        iteration.getWorkset()
            .join(arcs()).where(0).equalTo(0).with(left).returns(PAIR)
            .join(arcs()).where(1).equalTo(0).with(right).returns(PAIR);
    DataSet<Tuple2<Long, Long>> delta = found.coGroup(iteration.getSolutionSet()).where(0, 1).equalTo(0, 1).with(new Minus());
    return iteration.closeWith(delta, delta);
  }

  /** The smallest label that reaches each vertex; only improved labels travel on. */
  private DataSet<Tuple2<Long, Long>> labels(DataSet<Tuple2<Long, Long>> arcs) {
    DataSet<Tuple2<Long, Long>> seed = arcs.map(arc -> new Tuple2<>(arc.f0, arc.f0)).returns(PAIR).distinct();
    DeltaIteration<Tuple2<Long, Long>, Tuple2<Long, Long>> iteration = seed.iterateDelta(seed, FOR_EVER, 0);
    DataSet<Tuple2<Long, Long>> found =
        iteration.getWorkset()
            .join(arcs).where(0).equalTo(0)
            .with((JoinFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, Tuple2<Long, Long>>)
                (label, arc) -> new Tuple2<>(arc.f1, label.f1))
            .returns(PAIR)
            .groupBy(0).min(1);
    DataSet<Tuple2<Long, Long>> delta = found.coGroup(iteration.getSolutionSet()).where(0).equalTo(0).with(new Improve());
    return iteration.closeWith(delta, delta);
  }

  private DataSet<Tuple2<Long, Long>> shortestPaths() {
    DataSet<Tuple2<Long, Long>> seed = environment.fromElements(new Tuple2<>(source, 0L));
    DeltaIteration<Tuple2<Long, Long>, Tuple2<Long, Long>> iteration = seed.iterateDelta(seed, FOR_EVER, 0);
    DataSet<Tuple2<Long, Long>> found =
        iteration.getWorkset()
            .join(weightedArcs()).where(0).equalTo(0)
            .with((JoinFunction<Tuple2<Long, Long>, Tuple3<Long, Long, Long>, Tuple2<Long, Long>>)
                (path, arc) -> new Tuple2<>(arc.f1, path.f1 + arc.f2))
            .returns(PAIR)
            .groupBy(0).min(1);
    DataSet<Tuple2<Long, Long>> delta = found.coGroup(iteration.getSolutionSet()).where(0).equalTo(0).with(new Improve());
    return iteration.closeWith(delta, delta);
  }

  private DataSet<Tuple3<Long, Long, Long>> allShortestPaths() {
    DataSet<Tuple3<Long, Long, Long>> seed = weightedArcs().groupBy(0, 1).min(2);
    DeltaIteration<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> iteration = seed.iterateDelta(seed, FOR_EVER, 0, 1);
    DataSet<Tuple3<Long, Long, Long>> found =
        iteration.getWorkset()
            .join(weightedArcs()).where(1).equalTo(0)
            .with((JoinFunction<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>>)
                (path, arc) -> new Tuple3<>(path.f0, arc.f1, path.f2 + arc.f2))
            .returns(TRIPLE)
            .groupBy(0, 1).min(2);
    DataSet<Tuple3<Long, Long, Long>> delta =
        found.coGroup(iteration.getSolutionSet()).where(0, 1).equalTo(0, 1).with(new ImproveTriple());
    return iteration.closeWith(delta, delta);
  }

  /** Bulk iteration, as Nexus does it: all ranks change in every round. The first of 20 rounds gives 0.15 to each node. */
  private DataSet<Tuple2<Long, Double>> pageRank() {
    DataSet<Tuple1<Long>> nodeSet = environment.readCsvFile(nodes).types(Long.class);
    DataSet<Tuple2<Long, Double>> base = nodeSet.map(node -> new Tuple2<>(node.f0, 0.15)).returns(RANKED);
    DataSet<Tuple2<Long, Long>> degrees =
        arcs().map(arc -> new Tuple2<>(arc.f0, 1L)).returns(PAIR).groupBy(0).sum(1);
    DataSet<Tuple3<Long, Long, Long>> shares =
        arcs().join(degrees).where(0).equalTo(0)
            .with((JoinFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, Tuple3<Long, Long, Long>>)
                (arc, degree) -> new Tuple3<>(arc.f0, arc.f1, degree.f1))
            .returns(TRIPLE);
    IterativeDataSet<Tuple2<Long, Double>> iteration = base.iterate(19);
    DataSet<Tuple2<Long, Double>> sent =
        iteration.join(shares).where(0).equalTo(0)
            .with((FlatJoinFunction<Tuple2<Long, Double>, Tuple3<Long, Long, Long>, Tuple2<Long, Double>>)
                (rank, share, out) -> out.collect(new Tuple2<>(share.f1, 0.85 * rank.f1 / share.f2)))
            .returns(RANKED);
    return iteration.closeWith(sent.union(base).groupBy(0).sum(1));
  }

  /** What is new, each fact once. */
  private static final class Minus
      implements CoGroupFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, Tuple2<Long, Long>> {
    @Override
    public void coGroup(
        Iterable<Tuple2<Long, Long>> found, Iterable<Tuple2<Long, Long>> known, Collector<Tuple2<Long, Long>> out) {
      if (!known.iterator().hasNext()) {
        out.collect(found.iterator().next());
      }
    }
  }

  private static final class Improve
      implements CoGroupFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, Tuple2<Long, Long>> {
    @Override
    public void coGroup(
        Iterable<Tuple2<Long, Long>> found, Iterable<Tuple2<Long, Long>> known, Collector<Tuple2<Long, Long>> out) {
      java.util.Iterator<Tuple2<Long, Long>> old = known.iterator();
      Tuple2<Long, Long> candidate = found.iterator().next();
      if (!old.hasNext() || candidate.f1 < old.next().f1) {
        out.collect(candidate);
      }
    }
  }

  private static final class ImproveTriple
      implements CoGroupFunction<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> {
    @Override
    public void coGroup(
        Iterable<Tuple3<Long, Long, Long>> found,
        Iterable<Tuple3<Long, Long, Long>> known,
        Collector<Tuple3<Long, Long, Long>> out) {
      java.util.Iterator<Tuple3<Long, Long, Long>> old = known.iterator();
      Tuple3<Long, Long, Long> candidate = found.iterator().next();
      if (!old.hasNext() || candidate.f2 < old.next().f2) {
        out.collect(candidate);
      }
    }
  }

  // The answers, as answer.py defines them.
  private static final long PRIME = 2_147_483_647L;
  private static final long START = 12_345L;
  private static final long[] FACTORS = {1_000_003L, 998_244_353L, 754_974_721L};

  private static long mix(long mixed, long value, int column) {
    return (mixed + value % PRIME * FACTORS[column] % PRIME) % PRIME;
  }

  private static long squared(long mixed) {
    return mixed * mixed % PRIME;
  }

  private static String pairs(DataSet<Tuple2<Long, Long>> result, boolean check) throws Exception {
    if (!check) {
      return Long.toString(result.count());
    }
    return total(
        result.map(row -> new Tuple2<>(1L, squared(mix(mix(START, row.f0, 0), row.f1, 1)))).returns(SUMS));
  }

  private static String triples(DataSet<Tuple3<Long, Long, Long>> result, boolean check) throws Exception {
    if (!check) {
      return Long.toString(result.count());
    }
    return total(
        result
            .map(row -> new Tuple2<>(1L, squared(mix(mix(mix(START, row.f0, 0), row.f1, 1), row.f2, 2))))
            .returns(SUMS));
  }

  private static String total(DataSet<Tuple2<Long, Long>> rows) throws Exception {
    for (Tuple2<Long, Long> sum : rows.reduce((one, other) -> new Tuple2<>(one.f0 + other.f0, one.f1 + other.f1)).collect()) {
      return sum.f0 + "\t" + sum.f1;
    }
    return "0\t0";
  }

  private static String ranks(DataSet<Tuple2<Long, Double>> result, boolean check) throws Exception {
    if (!check) {
      return Long.toString(result.count());
    }
    DataSet<Tuple2<Long, Double>> weighted =
        result.map(row -> new Tuple2<>(1L, row.f1 * (mix(START, row.f0, 0) % 1000 + 1))).returns(RANKED);
    for (Tuple2<Long, Double> sum :
        weighted.reduce((one, other) -> new Tuple2<>(one.f0 + other.f0, one.f1 + other.f1)).collect()) {
      return sum.f0 + "\t" + sum.f1 / 1000;
    }
    return "0\t0";
  }
}
